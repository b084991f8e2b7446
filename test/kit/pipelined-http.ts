import { once } from "node:events";
import { connect } from "node:net";

/** An answer as it came over a kept connection. */
export interface PipelinedAnswer {
  readonly status: number;
  /** The status line and the headers. */
  readonly head: string;
  readonly body: string;
}

const HEAD_END = "\r\n\r\n";

/**
 * Sends GETs one after another over one kept connection without waiting for answers in between, and reads the answers in
 * their order. A hundred thousand requests take seconds, where a `fetch` for each would take a minute.
 */
export async function getPipelined(
  port: number,
  paths: Iterable<string>,
  headers: Readonly<Record<string, string>>,
  onAnswer: (answer: PipelinedAnswer, index: number) => void,
): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const requests = Array.from(paths, (path) => `GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  let answered = 0;
  // Latin-1, so that a character is a byte: the bodies are ASCII, and lengths are counted in bytes.
  let unread = "";
  const done = Promise.withResolvers<void>();
  socket.setEncoding("latin1");
  socket.on("error", done.reject);
  socket.on("close", () => done.reject(new Error(`the server closed after ${answered} of ${requests.length} answers`)));
  socket.on("data", (chunk: string) => {
    unread += chunk;
    let at = 0;
    for (;;) {
      const end = unread.indexOf(HEAD_END, at);
      if (end === -1) break;
      const head = unread.slice(at, end);
      const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? Number.NaN);
      if (Number.isNaN(length)) return done.reject(new Error(`an answer without a length: ${head}`));
      const bodyAt = end + HEAD_END.length;
      if (unread.length < bodyAt + length) break;
      onAnswer({ status: Number(head.slice(9, 12)), head, body: unread.slice(bodyAt, bodyAt + length) }, answered);
      answered += 1;
      at = bodyAt + length;
    }
    unread = unread.slice(at);
    if (answered === requests.length) done.resolve();
  });
  await once(socket, "connect");
  for (let index = 0; index < requests.length; index += 500) socket.write(requests.slice(index, index + 500).join(""));
  try {
    await done.promise;
  } finally {
    socket.destroy();
  }
}
