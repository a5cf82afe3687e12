// SPDX-License-Identifier: GPL-2.0

//! Events and their channels: `ib_user_verbs.h`.

use super::wire;

wire! {
    struct AsyncEvent = ib_uverbs_async_event_desc {
        element: u64,
        event_type: u32,
        reserved: u32,
    }

    struct CompEvent = ib_uverbs_comp_event_desc {
        cq_handle: u64,
    }

    struct CreateCompChannel = ib_uverbs_create_comp_channel {
        response: u64,
    }

    struct CreateCompChannelResp = ib_uverbs_create_comp_channel_resp {
        fd: u32,
    }
}
