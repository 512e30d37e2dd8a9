# Sourced by check and sanitize: what their shorter runs choose among the tests. A new test runs in `make check-all` in any
# case. It runs in `make check`, too, if its file is one of the quick ones (here, or in test/unit/CMakeLists.txt) and no pattern
# here names it.

# Unit tests that repeat others with more data, as patterns of GoogleTest.
slow_tests=*DoneRows*:*LargerCollections*:*StatsTest*:*CopiesTest*:*MemoryTest*:*TenthTest*:*SpillTest.TwoSided*:*MemoryStays*
slow_tests+=:*FileIsAskedFor*:*/S*SE*:BulkFlyHash.ManyRounds*:BulkSignerTest.*OnceThatPays:PairVerifier.*:MinHash.*Curve
slow_tests+=:MinHash.*stimate*:RarityJoin*:*RarityJoins*
# Its memory is never touched, but sanitizers mark it.
slow_tests+=:DamerauDistance.IsGivenUpSoon

# Unit tests of quick files that take seconds all the same.
left_to_all=*SpillAlgorithm*:WeightedJoin.*BeyondTheMemoryLimit:WeightedJoin.FindsThePairsOfValuesThatWait
left_to_all+=:*TokensInTheOrderOfTheirFrequency*:*SidesOfVeryDifferentSizes*:*FindTheSamePairsBeyondTheirMemory*
left_to_all+=:LshTokens.ComparesTokensOfAllTypes:ServiceMemory.*:ServiceTest.JoinsLongSets:BulkFlyHash.*

# Shapes of sets that are read and written like those of other shapes.
more_shapes=
for shape in uniform skewed near_duplicates equal_sets dense on_threshold; do more_shapes+=":*/${shape}_*"; done
more_shapes=${more_shapes#:}

# SQL tests and isolation tests that repeat others in other ways.
slow_sql=(dedup_tracking_keys dedup_tracking_weights estimates functions_weighted input_cache join_parallel join_sums profile
  text_fields)
slow_specs=(recheck_matrix)

# TAP tests that kill no server and wait for nothing.
quick_tap=(001_fresh_session.pl 003_dump_restore.pl 004_schema.pl 006_foreign_tables.pl 020_other_extensions.pl 021_updates.pl)
