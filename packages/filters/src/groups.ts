import type { Filter, FilterValue } from "./filter.ts";

/** The groups of a list of filters: one of them must hold, with all its filters. Alternatives of one field are one filter with a list. */
export function groupsOf(filters: Filter[]): Filter[][] {
  return split(withListsMerged(filters));
}

/** The first glue does not count; an `or` begins a group. */
function split(filters: Filter[]): Filter[][] {
  const groups: Filter[][] = [];
  for (const filter of filters) {
    const group = groups.at(-1);
    if (!group || filter.glue === "or") groups.push([filter]);
    else group.push(filter);
  }
  return groups;
}

/** `or city = Rome, or city = Oslo` is one list, so that what follows holds for both. */
function withListsMerged(filters: Filter[]): Filter[] {
  const merged: Filter[] = [];
  for (const filter of filters) {
    const last = merged.at(-1);
    if (last && isAlternative(filter) && isAlternative(last) && isSameField(filter, last))
      merged[merged.length - 1] = { ...last, filter: [...valuesOf(last.filter), ...valuesOf(filter.filter)] };
    else merged.push(filter);
  }
  return merged;
}

function isAlternative({ glue, operator, filter }: Filter): boolean {
  return glue === "or" && operator === "=" && filter !== null && filter !== "";
}

function isSameField(one: Filter, other: Filter): boolean {
  return one.field === other.field && one.object === other.object;
}

function valuesOf(value: FilterValue) {
  return Array.isArray(value) ? value : value === null ? [] : [value];
}
