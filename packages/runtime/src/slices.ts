/** The items in their order, in lists of `size` each; the last one may be shorter. Without items there is no list. */
export function slices<T>(items: T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}
