// The kernel sets as the floors above the model may see them: to list them, to load a model with a given one, and to
// count what a forward pass calls. What they compute is the model's business.
#pragma once

#include "kernels/counted_table.h"
#include "kernels/select.h"
#include "kernels/table.h"

namespace lockstep::model {

using kernels::attention_name;
using kernels::available_tables;
using kernels::CacheType;
using kernels::CountedTable;
using kernels::KernelTable;
using kernels::kMostStreamed;
using kernels::product_name;
using kernels::product_way;

}  // namespace lockstep::model
