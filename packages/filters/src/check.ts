import { isObject } from "@tidings/resource/json-member";
import type { Violation } from "@tidings/rpc/fault";
import { FILTERS_MAX, type Filter, FilterProblem, readFilter } from "./filter.ts";
import { ALL_OPERATORS } from "./operators.ts";

/** Checks the filters of dynamic content. `path` is the member that has them. Fields are not judged: unknown ones are skipped by `matches`. */
export function checkFilters(path: string, sent: unknown): Violation[] {
  if (!Array.isArray(sent)) return [{ field: path, message: "The filters must be a list." }];
  if (sent.length > FILTERS_MAX)
    return [{ field: path, message: `At most ${FILTERS_MAX} filters are supported.` }];
  return sent.flatMap((item, index) => {
    try {
      checkFilter(readFilter(isObject(item) ? { operator: "=", ...item } : item, index));
      return [];
    } catch (error) {
      if (!(error instanceof FilterProblem)) throw error;
      const member = error.member ? `.${error.member}` : "";
      return [{ field: `${path}[${index}]${member}`, message: error.message }];
    }
  });
}

function checkFilter(filter: Filter): void {
  const { field, operator } = filter;
  if (field === "") throw new FilterProblem("A filter needs a text as its field.", "field");
  if (!ALL_OPERATORS.has(operator))
    throw new FilterProblem(
      `"${operator.slice(0, 20)}" is not an operator of ${field.slice(0, 50)}.`,
      "operator",
    );
}
