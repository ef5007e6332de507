// Keys that change the arithmetic in ways a family does not compute.
#pragma once

#include "model/config_keys.h"
#include "model/family.h"

namespace lockstep::model {

// Such a key is refused rather than ignored (kUnsupported, naming it), unless it holds the value that means "off".
void refuse_unknown_arithmetic(const ConfigKeys& keys, const Family& family);

}  // namespace lockstep::model
