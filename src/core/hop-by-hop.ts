/** Headers that mean one connection only (RFC 9110 section 7.6.1), and what is for a proxy itself: no proxy passes them on. */
export const HOP_BY_HOP: readonly string[] = [
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
