import { Code, Fault } from "@tidings/rpc/fault";

/** An upload that is not taken: 406 at the edge. */
export function refused(message: string): Fault {
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "UPLOAD_REFUSED", message });
}

export function tooLarge(bytesMax: number): Fault {
  const message = `The file may have at most ${bytesMax} bytes.`;
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "BODY_TOO_LARGE", message });
}
