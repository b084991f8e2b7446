/** Where user code finds the proxy by which alone it reaches anything, at the sandbox's own loopback. */
export const EGRESS_PORT = 3128;

/** Variables by which programs find the proxy; loopback itself is reached without it. */
export function toProxyEnvironment(): Readonly<Record<string, string>> {
  const proxy = `http://127.0.0.1:${EGRESS_PORT}`;
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
  const none = "localhost,127.0.0.1,::1";
  return {
    ...Object.fromEntries(names.flatMap((name) => [name, name.toLowerCase()].map((each) => [each, proxy]))),
    NO_PROXY: none,
    no_proxy: none,
    // Node reads the variables above since version 24, if it is told to.
    NODE_USE_ENV_PROXY: "1",
  };
}
