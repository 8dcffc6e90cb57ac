import { type ApiOptions, apiRouter } from "@tidings/gateway/api";

type Use = (this: object, path: unknown, ...handlers: object[]) => unknown;
interface RouterPrototype {
  use: Use;
  all: Use;
}

/** Nothing is called while routes are mounted. */
const OPTIONS = {
  isEnabled: true,
  clients: { of: () => ({}) },
  limits: { pageSize: 30, limitMax: 100, batchMax: 200 },
} as unknown as ApiOptions;

/**
 * The templates of all paths below /api. Routers do not list what was mounted on them: so their making is watched. Those that
 * are mounted nowhere are the API's own, which finds them by the first word of a path.
 */
export function mountedTemplates(): string[] {
  const prototype: RouterPrototype = Object.getPrototypeOf(Object.getPrototypeOf(apiRouter(OPTIONS)));
  const { use, all } = prototype;
  const parts = new Map<object, { path: string; child: object | undefined }[]>();
  const watched = (original: Use, isRouter: boolean): Use =>
    function (path, ...handlers) {
      const list = parts.get(this) ?? [];
      if (typeof path === "string") list.push({ path, child: isRouter ? handlers[0] : undefined });
      parts.set(this, list);
      return original.call(this, path, ...handlers);
    };
  prototype.use = watched(use, true);
  prototype.all = watched(all, false);
  try {
    apiRouter(OPTIONS);
    const templatesOf = (router: object): string[] =>
      (parts.get(router) ?? []).flatMap(({ path, child }) =>
        child ? templatesOf(child).map((inner) => path + inner) : [path],
      );
    const mounted = new Set([...parts.values()].flat().map(({ child }) => child));
    const roots = [...parts.keys()].filter((router) => !mounted.has(router));
    return roots.flatMap(templatesOf).map((template) => template.replace(/\/$/, ""));
  } finally {
    prototype.use = use;
    prototype.all = all;
  }
}
