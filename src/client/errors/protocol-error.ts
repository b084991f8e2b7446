import { ClientError } from "./client-error.ts";

const EXCERPT_LENGTH = 200;

/** Something answered, but not in the protocol: a proxy's page, another program on the port, a crashed server's plain text. */
export class ProtocolError extends ClientError {
  override readonly name = "ProtocolError";
  readonly status: number;
  readonly method: string;
  readonly url: string;
  /** The whole body, as text. */
  readonly body: string;

  constructor(status: number, method: string, url: string, body: string) {
    const excerpt = body.length > EXCERPT_LENGTH ? `${body.slice(0, EXCERPT_LENGTH)}…` : body;
    super(
      `status ${status} without an envelope on ${method} ${url}: ${JSON.stringify(excerpt)}`,
      "Check that the url is a Toolyard server's, with nothing between that answers in its place.",
    );
    this.status = status;
    this.method = method;
    this.url = url;
    this.body = body;
  }
}
