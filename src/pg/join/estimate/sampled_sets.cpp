#include "pg/join/estimate/sampled_sets.hpp"

extern "C" {
#include "access/table.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include <algorithm>
#include <numeric>

#include "pg/base/interrupts.hpp"
#include "pg/base/subtransaction.hpp"
#include "pg/sets/tokens.hpp"

namespace simjoin::pg {
namespace {

constexpr uint64 blocks_wanted = 256;
constexpr uint64 rows_wanted = 1000;
constexpr size_t tokens_wanted = 50000;  // with so many, the sample is large enough

// A table with rows of the relation: itself, or a partition.
struct Leaf {
  Oid table;
  Expr *set;     // over the columns of this table
  uint64 first;  // the number of its first block, among the blocks of all
  uint64 blocks;
};

// The table that is open.
struct OpenLeaf {
  const Leaf *leaf;  // NULL where none is
  Relation relation;
  TableScanDesc scan;
  TupleTableSlot *slot;
  ExprContext *context;
  ExprState *set;
};

// A sample while it is drawn.
struct Drawing {
  PlannerInfo *root;
  Index relid;
  Expr *set;
  TokenType type;
  DrawnSets *drawn;
  GrowingArray<Leaf> leaves;
  OpenLeaf open;
};

void find_leaves(Drawing *drawing, Index relid, Expr *set) {
  PlannerInfo *root = drawing->root;
  const RangeTblEntry *rte = planner_rt_fetch(relid, root);
  if (rte->inh) {
    ListCell *cell;
    foreach (cell, root->append_rel_list) {
      auto *info = lfirst_node(AppendRelInfo, cell);
      if (info->parent_relid != relid) continue;
      const RelOptInfo *child = root->simple_rel_array[info->child_relid];
      if (child == nullptr || IS_DUMMY_REL(const_cast<RelOptInfo *>(child))) continue;
      auto *node = reinterpret_cast<Node *>(set);
      find_leaves(drawing, info->child_relid,
                  reinterpret_cast<Expr *>(adjust_appendrel_attrs(root, node, 1, &info)));
    }
    return;
  }
  if (rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW) return;
  Relation relation = table_open(rte->relid, NoLock);  // the parser or the planner locked it
  const uint64 blocks =
      relation->rd_tableam->scan_set_tidrange == nullptr ? 0 : RelationGetNumberOfBlocks(relation);
  table_close(relation, NoLock);
  const size_t count = drawing->leaves.size();
  const uint64 first = count == 0 ? 0 : drawing->leaves[count - 1].first + drawing->leaves[count - 1].blocks;
  if (blocks > 0) drawing->leaves.append({rte->relid, set, first, blocks});
}

void set_range(uint64 block, ItemPointerData *first, ItemPointerData *last) {
  ItemPointerSet(first, static_cast<BlockNumber>(block), FirstOffsetNumber);
  ItemPointerSet(last, static_cast<BlockNumber>(block), MaxOffsetNumber);
}

void close_leaf(OpenLeaf *open) {
  if (open->leaf == nullptr) return;
  table_endscan(open->scan);
  ExecDropSingleTupleTableSlot(open->slot);
  FreeExprContext(open->context, true);
  table_close(open->relation, NoLock);
  *open = {};
}

// Rows are those that are committed now, as in statistics. The statement's own snapshot would take locks
// where transactions are serializable.
void open_leaf(const Leaf &leaf, OpenLeaf *open) {
  if (open->leaf == &leaf) return;
  close_leaf(open);
  open->leaf = &leaf;
  open->relation = table_open(leaf.table, NoLock);
  ItemPointerData first, last;
  set_range(0, &first, &last);
  open->scan = table_beginscan_tidrange(open->relation, SnapshotSelf, &first, &last);
  open->slot = table_slot_create(open->relation, nullptr);
  open->context = CreateStandaloneExprContext();
  auto *set = static_cast<Expr *>(copyObjectImpl(leaf.set));
  fix_opfuncids(reinterpret_cast<Node *>(set));
  open->set = ExecInitExpr(set, nullptr);
}

void add_set(uint64 row, Datum value, TokenType type, DrawnSets *drawn) {
  ArrayType *array = DatumGetArrayTypeP(value);
  SetView view;
  if (dimensions_of_flawed(array) != 0 || !view_plain_set(array, type, &view)) return;
  GrowingArray<TokenKey> &tokens = drawn->tokens;
  const size_t begin = tokens.size();
  TokenCursor cursor(view);
  for (size_t i = 0; i < Min(size_t{view.count}, tokens_wanted); ++i)
    tokens.append(cursor.next([](auto token) { return token_key(token); }));
  std::sort(tokens.begin() + begin, tokens.end());
  tokens.shorten(static_cast<size_t>(std::unique(tokens.begin() + begin, tokens.end()) - tokens.begin()));
  if (tokens.size() > begin) drawn->sets.append({row, begin, tokens.size() - begin});
}

// Returns whether the sample is large enough.
bool has_enough(const Drawing &drawing) {
  return drawing.drawn->tokens.size() >= tokens_wanted;
}

// Reads some rows of a block. Rows of large sets are many in a block if these are stored out of line.
void draw_block(Drawing *drawing, uint64 number, uint64 rows) {
  const Leaf *leaf = std::upper_bound(drawing->leaves.begin(), drawing->leaves.end(), number,
                                      [](uint64 block, const Leaf &other) { return block < other.first; }) -
                     1;
  OpenLeaf *open = &drawing->open;
  open_leaf(*leaf, open);
  ItemPointerData first, last;
  set_range(number - leaf->first, &first, &last);
  table_rescan_tidrange(open->scan, &first, &last);
  while (rows-- > 0 && !has_enough(*drawing) &&
         table_scan_getnextslot_tidrange(open->scan, ForwardScanDirection, open->slot)) {
    check_interrupts();
    drawing->drawn->rows += 1;
    ResetExprContext(open->context);
    open->context->ecxt_scantuple = open->slot;
    bool isnull;
    MemoryContext caller = MemoryContextSwitchTo(open->context->ecxt_per_tuple_memory);
    const Datum value = ExecEvalExpr(open->set, open->context, &isnull);
    const uint64 row = number << 16 | ItemPointerGetOffsetNumber(&open->slot->tts_tid);
    if (!isnull) add_set(row, value, drawing->type, drawing->drawn);
    MemoryContextSwitchTo(caller);
  }
}

// Reads rows of blocks that are spread evenly, in an order in which any first ones are, too.
void draw(void *argument) {
  auto *drawing = static_cast<Drawing *>(argument);
  find_leaves(drawing, drawing->relid, drawing->set);
  if (drawing->leaves.empty()) return;
  const uint64 blocks = drawing->leaves.back().first + drawing->leaves.back().blocks;
  const uint64 wanted = Min(blocks, blocks_wanted), rows = (rows_wanted + wanted - 1) / wanted;
  uint64 step = Max(static_cast<uint64>(static_cast<double>(blocks) * 0.618), 1);
  while (std::gcd(step, blocks) != 1) ++step;
  for (uint64 i = 0; i < wanted && !has_enough(*drawing); ++i) draw_block(drawing, i * step % blocks, rows);
  close_leaf(&drawing->open);
}

}  // namespace

bool draw_sets(const SetOrigin &origin, TokenType type, DrawnSets *drawn) {
  *drawn = {0, GrowingArray<DrawnSet>(CurrentMemoryContext), GrowingArray<TokenKey>(CurrentMemoryContext)};
  Drawing drawing = {
      origin.root, origin.relid, origin.set, type, drawn, GrowingArray<Leaf>(CurrentMemoryContext, 1), {}};
  return ActiveSnapshotSet() && may_begin_subtransaction() && attempt(draw, &drawing);
}

}  // namespace simjoin::pg
