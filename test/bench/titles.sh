# Generated titles, to be sourced.

# Prints lines of an id and a title of about 64 characters. The words have a few syllables, frequent ones are short, and their
# frequencies fall as 1/rank. One title of ten is an earlier one with one to three changed characters.
titles() {
  awk -v count="$1" '
    function random(n) { state = (state * 48271) % 2147483647; return state % n }
    BEGIN {
      state = 20061
      syllables = split("an ber co dat el fo gen hi in ju ka lo mi nu op par qui re sy tra un vo wer xi yo ze", syllable, " ")
      vocabulary = 20000
      for (i = 1; i <= vocabulary; ++i) {
        length_of = 1 + (i > 40) + (i > 900) + random(2)
        for (j = 0; j < length_of; ++j) word[i] = word[i] syllable[1 + random(syllables)]
      }
      for (i = 1; i <= count; ++i) {
        if (i > 10 && random(10) == 0) {
          title = old[random(kept)]
          for (edits = 1 + random(3); edits > 0; --edits) {
            at = 1 + random(length(title))
            title = substr(title, 1, at - 1) substr("abcdefghijklmnopqrstuvwxyz", 1 + random(26), 1) substr(title, at + 1)
          }
        } else {
          title = ""
          while (length(title) < 58) title = title (title == "" ? "" : " ") word[int(exp(log(vocabulary) * random(1000003) / 1000003))]
        }
        old[kept < 10000 ? kept++ : random(kept)] = title
        printf "%d\t%s\n", i, title
      }
    }'
}
