// Weft's native interface, all of it. docs/native.md explains it and has a complete program; among the headers, begin
// with device.h, domain.h, queue_pair.h and work.h.
#pragma once

#include "weft/completion_queue.h"
#include "weft/device.h"
#include "weft/domain.h"
#include "weft/error.h"
#include "weft/event.h"
#include "weft/queue_pair.h"
#include "weft/region.h"
#include "weft/shared_receive_queue.h"
#include "weft/simulation.h"
#include "weft/task.h"
#include "weft/types.h"
#include "weft/work.h"
