import { TRANSFER_PATH } from "@tidings/rpc/transfer";
import express, { type Express, type Router } from "express";

/** Nothing but the style of the page itself. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const START = page(
  "Tidings",
  "Pages, forms and files that are published with Tidings are here. There is none at this address.",
);
const NOT_FOUND = page("Not found", "There is no such page, or it is gone.");
/** Programs that look for pages leave the API alone. */
const ROBOTS = "User-agent: *\nDisallow: /api/\nDisallow: /oauth/\n";

export interface WebParts {
  /** Routes for the gateway alone. */
  transfer: Router;
  images: Router;
}

/** The public web, reached through the gateway, without anything of the API. */
export function webApp({ transfer, images }: WebParts): Express {
  const app = express();
  app.disable("x-powered-by").set("query parser", false).enable("case sensitive routing");
  app.use((_request, response, next) => {
    response.setHeader("content-security-policy", POLICY);
    response.setHeader("x-content-type-options", "nosniff");
    next();
  });
  app.get("/robots.txt", (_request, response) => {
    response.setHeader("cache-control", "public, max-age=3600");
    response.type("text/plain").send(ROBOTS);
  });
  app.use(TRANSFER_PATH, transfer);
  app.use("/media/images", images);
  app.get("/", (_request, response) => {
    response.type("text/html").send(START);
  });
  app.use((_request, response) => {
    response.status(404).type("text/html").send(NOT_FOUND);
  });
  return app;
}

function page(title: string, text: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem}</style>
</head><body><main><h1>${title}</h1><p>${text}</p></main></body></html>
`;
}
