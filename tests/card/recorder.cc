#include "card/recorder.h"

template class weft::nic::Card<weft::test::Recorder>;
