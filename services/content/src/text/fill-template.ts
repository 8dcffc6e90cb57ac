import { isObject } from "@tidings/resource/json-member";

/** Values of a message by name; `to` may be several. */
export type TemplateValues = Readonly<Record<string, string | string[]>>;

const NAME = /\{([a-z]+)\}/g;
const NAME_ALONE = /^\{([a-z]+)\}$/;

/**
 * The JSON of a template with values in its texts, which are not read for names. Where a name stands alone in a list, several values are items of the list;
 * in an object, a member whose value is empty is left out: providers refuse empty addresses.
 */
export function fillTemplate(template: unknown, values: TemplateValues): unknown {
  if (Array.isArray(template))
    return template.flatMap((item) => valuesAlone(item, values) ?? [fillTemplate(item, values)]);
  if (isObject(template))
    return Object.fromEntries(
      Object.entries(template).flatMap(([name, item]) =>
        valuesAlone(item, values)?.length === 0 ? [] : [[name, fillTemplate(item, values)]],
      ),
    );
  if (typeof template !== "string") return template;
  return template.replace(NAME, (named, name: string) =>
    Object.hasOwn(values, name) ? [values[name]].flat().join(",") : named,
  );
}

/** The values of a text that is one name and nothing else, empty ones left out; undefined for any other. */
function valuesAlone(item: unknown, values: TemplateValues): string[] | undefined {
  const [, name] = (typeof item === "string" && NAME_ALONE.exec(item)) || [];
  if (name === undefined || !Object.hasOwn(values, name)) return undefined;
  return [values[name] ?? []].flat().filter((value) => value !== "");
}
