import { type AnyDesc, type DescExtension, getOption, hasOption } from "@bufbuild/protobuf";

/** The value of an option where nothing sets it. */
const defaults = new Map<DescExtension, unknown>();
const declared = new WeakMap<AnyDesc, Map<DescExtension, unknown>>();

/**
 * The value of an option of a field, message, method or service, or the option's default: `getOption` of the library, which reads the
 * bytes anew at each call and so took a quarter of a gateway's start. The value is shared; do not change it.
 */
export const optionOf: typeof getOption = (element, option) => {
  const known = hasOption(element, option) ? knownOf(element) : defaults;
  if (!known.has(option)) known.set(option, getOption(element, option));
  return known.get(option) as ReturnType<typeof getOption<typeof option, typeof element>>;
};

function knownOf(element: AnyDesc): Map<DescExtension, unknown> {
  const known = declared.get(element) ?? new Map<DescExtension, unknown>();
  declared.set(element, known);
  return known;
}
