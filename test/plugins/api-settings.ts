import { Backend, type BackendSetup } from "../../src/core/backend.ts";
import { tool } from "../../src/core/tool.ts";

/** Tells what it was made with. */
export default class ApiSettings extends Backend {
  readonly resource = "settings";
  readonly #apis: BackendSetup["apis"];

  constructor(setup: BackendSetup) {
    super(setup);
    this.#apis = setup.apis;
  }

  @tool({ description: "Tell the settings of API tools." })
  show(): unknown {
    return { apis: this.#apis };
  }
}
