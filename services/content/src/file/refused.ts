import { Code, Fault } from "@tidings/rpc/fault";

/** An upload that is not taken: 406 at the edge. */
export function refused(message: string): Fault {
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "UPLOAD_REFUSED", message });
}

export function tooLarge(bytesMax: number): Fault {
  return beyond(`The file may have at most ${bytesMax} bytes.`);
}

export function noRoom(allBytesMax: number, userBytesMax: number): Fault {
  return beyond(
    `All uploads together may have ${allBytesMax} bytes, and those of one user ${userBytesMax}: there is no room for this one.`,
  );
}

/** 413 at the edge. */
function beyond(message: string): Fault {
  return new Fault({ code: Code.INVALID_ARGUMENT, reason: "BODY_TOO_LARGE", message });
}
