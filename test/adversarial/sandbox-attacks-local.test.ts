import { LocalRuntime } from "../../src/runtimes/local/runtime.ts";
import { describeLocal } from "../backends/code/local-sandboxes.ts";
import { attackFiles } from "./file-attacks.ts";
import { attackResources, attackResults } from "./sandbox-attacks.ts";

const make = () => new LocalRuntime();

describeLocal("a local box under attack", () => attackResources(make));
describeLocal("what hostile code in a local box says", () => attackResults(make));
describeLocal("the files of a local box under attack", () => attackFiles(make));
