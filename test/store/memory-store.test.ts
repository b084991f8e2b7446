import { describeStore } from "../kit/store-conformance.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";

describeStore("memory", async () => createMemoryStore());
