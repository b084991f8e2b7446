/** Somebody broke the RFB protocol, or speaks a part of it that does not pass here. The message may be shown to them. */
export class RfbViolation extends Error {
  override readonly name = "RfbViolation";
}
