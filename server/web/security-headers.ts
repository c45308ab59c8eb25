import type express from 'express'
import helmet from 'helmet'
import { mintToken } from '../access/secrets.ts'
import type { Installation } from '../access/trpc.ts'
import { stateOf } from '../http/request-state.ts'
import { isConsent } from './pages.ts'

/** Give the page's scripts a nonce (CSP), before securityHeaders names it. */
export function withNonce(_req: express.Request, res: express.Response, next: express.NextFunction): void {
  stateOf(res).nonce = mintToken()
  next()
}

/** The Content-Security-Policy and its companions of every page. */
export function securityHeaders({ env }: Installation): express.RequestHandler {
  const isSecure = env.appUrl.startsWith('https:')
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'", (_req, res) => `'nonce-${stateOf(res).nonce}'`],
        imgSrc: ["'self'", 'data:', 'blob:'],
        objectSrc: ["'none'"],
        baseUri: ["'none'"],
        // The consent's answer leaves for the app, and Chromium checks each hop from there on. A nonce protects the page's scripts.
        formAction: [(req) => (isConsent(req) ? "'self' https: http:" : "'self'")],
        frameAncestors: ["'none'"],
        // The development server pushes reloads over a socket of its own.
        connectSrc: env.production ? ["'self'"] : ["'self'", 'ws:'],
      },
    },
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: isSecure,
  })
}
