// Which characters are letters and digits.
#pragma once

#include "core/text/fold_kernels.hpp"

namespace simjoin {

// Replaces the characters from `begin` to the end of folded text, which is of UTF-8 and lies in place: each
// run of others than letters and digits becomes one space, and is left out after a space. `after_space` tells
// whether a space, or nothing, is before. Letters and digits are those of Unicode. A mark belongs to the
// letter that it follows. A byte that is not part of a UTF-8 character is no letter.
void keep_letters_and_digits(char *begin, bool after_space, FoldedText *folded);

}  // namespace simjoin
