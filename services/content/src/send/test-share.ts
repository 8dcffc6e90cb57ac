/**
 * The recipients of a slice that take part in a test of `percent` of all recipients: spread evenly, and exact over any number of slices. `offered` is the
 * number of recipients of the slices before.
 */
export function testShare<T>(slice: T[], { offered, percent }: { offered: number; percent: number }): T[] {
  return slice.filter(
    (_, index) => shareOf(offered + index + 1, percent) > shareOf(offered + index, percent),
  );
}

/** The part of a number of recipients that take part in a test. */
export function shareOf(count: number, percent: number): number {
  return Math.ceil((count * percent) / 100);
}
