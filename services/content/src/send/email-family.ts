/** SQL: the email at the root of the family of a row `e`: the original of a translation, and the parent of a variant. */
export const FAMILY_OF = `(select coalesce(original.variant_parent_id, original.id) from emails original
  where original.id = coalesce(e.translation_parent_id, e.id))`;
