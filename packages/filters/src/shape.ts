import { type Filter, FilterProblem } from "./filter.ts";
import { VALUE_FREE } from "./operators.ts";

/** The types that clients name: those of fields, and those of items that are no fields. */
const TYPES = new Set(
  `boolean date datetime email country locale lookup number tel region select multiselect text textarea time timezone
   url html default leadlist tags stage lookup_id campaign globalcategory lead_email_received lead_asset_download
   device_type device_brand device_os device_model assets`.split(/\s+/),
);

/** Judges filters that are made now; an older one without a value asks for contacts without one. Throws FilterProblem. */
export function checkShape({ field, type, operator, filter }: Filter): void {
  if (type !== "" && !TYPES.has(type))
    throw new FilterProblem(`${field}: "${type.slice(0, 50)}" is not a type of filter.`);
  const isBlank = filter === null || filter === "" || (Array.isArray(filter) && filter.length === 0);
  if (isBlank && !VALUE_FREE.has(operator))
    throw new FilterProblem(`${field}: the operator "${operator.slice(0, 20)}" needs a value.`);
}
