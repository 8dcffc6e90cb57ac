export interface GatherOptions {
  /** The longest that a call waits. */
  waitMs: number;
  /** Need so many calls, that wait together, not wait for more? */
  isEnough(count: number): boolean;
}

/** Has calls wait for each other a while, so that what they do next is done together: all that wait go on at once. */
export function gather({ waitMs, isEnough }: GatherOptions): () => Promise<void> {
  let meeting: { count: number; over: PromiseWithResolvers<void>; timer: NodeJS.Timeout } | undefined;
  const end = () => {
    if (!meeting) return;
    clearTimeout(meeting.timer);
    meeting.over.resolve();
    meeting = undefined;
  };
  return () => {
    meeting ??= { count: 0, over: Promise.withResolvers(), timer: setTimeout(end, waitMs) };
    meeting.count += 1;
    const { over, count } = meeting;
    if (isEnough(count)) end();
    return over.promise;
  };
}
