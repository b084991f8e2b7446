import type { BackendSetup } from "../core/backend.ts";
import { createOutbound } from "../egress/outbound.ts";
import { createChatModel } from "../llm/openai-chat.ts";

/** What every backend is handed of the layers that it may not import; made in its own thread, since none of it is plain data. */
export const BACKEND_PORTS: Pick<BackendSetup, "openOutbound" | "openChatModel"> = {
  openOutbound: (rules) => createOutbound(rules),
  openChatModel: createChatModel,
};
