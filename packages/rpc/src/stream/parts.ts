/** A message on its way on a line, or a part of one. */
export interface Part {
  id: number;
  message: Uint8Array;
  /** Other parts of it follow. */
  more: boolean;
}

/** One end of a line, to write to. */
export interface Outlet<P extends Part> {
  /** Takes a message of any length. What is sent in one turn of the event loop goes as one frame. */
  send(part: P): void;
  /** Ends the line once everything has been sent. */
  end(): void;
}

/** The longest part: a long message leaves room for short ones after each. */
const PART_BYTES = 64 * 1024;
const FRAME_BYTES = 1024 * 1024;
/** The length of a message with all of its parts; both ends refuse longer ones. */
export const MESSAGE_BYTES_MAX = 32 * 1024 * 1024;

interface Stream<P> {
  /** Writes one frame and says when the next may come, so that what waits does so here and not in the stream. */
  write(parts: P[], done: () => void): void;
  end(): void;
}

/** `first` and `rest` make a part of a message: the first carries what is true of all of it. */
export function outlet<P extends Part>(
  stream: Stream<P>,
  rest: (id: number, message: Uint8Array, more: boolean) => P,
): Outlet<P> {
  const short: P[] = [];
  const long: P[] = [];
  let isWriting = false;
  let isScheduled = false;
  let isEnding = false;

  const schedule = () => {
    if (isWriting || isScheduled) return;
    isScheduled = true;
    setImmediate(write);
  };
  const write = () => {
    isScheduled = false;
    const frame = nextFrame();
    if (frame.length > 0) {
      isWriting = true;
      stream.write(frame, () => {
        isWriting = false;
        write();
      });
    } else if (isEnding) {
      stream.end();
    }
  };
  /** Short messages first come first served, and a part of one long message, whose turn comes again after the others. */
  const nextFrame = (): P[] => {
    let [count, bytes] = [0, 0];
    for (; count < short.length && bytes < FRAME_BYTES; count += 1)
      bytes += short[count]?.message.length ?? 0;
    const frame = short.splice(0, count);
    const part = long.shift();
    if (!part) return frame;
    const { id, message } = part;
    frame.push({ ...part, message: message.subarray(0, PART_BYTES), more: true });
    const others = rest(id, message.subarray(PART_BYTES), false);
    (others.message.length > PART_BYTES ? long : short).push(others);
    return frame;
  };
  return {
    send(part) {
      (part.message.length > PART_BYTES ? long : short).push(part);
      schedule();
    },
    end() {
      isEnding = true;
      schedule();
    },
  };
}

/** Puts the parts of messages together. */
export interface Inlet<P extends Part> {
  /** The first part with the whole message, once the last part is there. Throws a RangeError for one that is too long. */
  take(part: P): P | undefined;
  forget(id: number): void;
}

export function inlet<P extends Part>(): Inlet<P> {
  const begun = new Map<number, { first: P; messages: Uint8Array[]; bytes: number }>();
  return {
    take(part) {
      const known = begun.get(part.id);
      if (!known && !part.more) return part;
      const { first, messages, bytes } = known ?? { first: part, messages: [], bytes: 0 };
      messages.push(part.message);
      const bytesNow = bytes + part.message.length;
      if (bytesNow > MESSAGE_BYTES_MAX) {
        begun.delete(part.id);
        throw new RangeError("The message is too long.");
      }
      if (part.more) {
        begun.set(part.id, { first, messages, bytes: bytesNow });
        return undefined;
      }
      begun.delete(part.id);
      return { ...first, message: Buffer.concat(messages, bytesNow), more: false };
    },
    forget: (id) => begun.delete(id),
  };
}
