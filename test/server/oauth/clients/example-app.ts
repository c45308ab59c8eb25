import { randomUUID } from 'node:crypto'
import express, { type NextFunction, type Request, type Response } from 'express'
import * as oauth from 'oauth4webapi'

// An app that posts for its users. Register http://localhost:4000/callback, set CLIENT_ID and CLIENT_SECRET, run it.
const { PUNCTUAL_API = 'http://localhost:3000', CLIENT_ID = '', CLIENT_SECRET = '', PORT = '4000' } = process.env
if (!CLIENT_ID || !CLIENT_SECRET) throw new Error('Set CLIENT_ID and CLIENT_SECRET.')
const redirectUri = `http://localhost:${PORT}/callback`
const client = { client_id: CLIENT_ID }
const auth = oauth.ClientSecretBasic(CLIENT_SECRET)
const insecure = { [oauth.allowInsecureRequests]: true } // while Punctual is on http://localhost; leave it out elsewhere

const issuer = new URL(PUNCTUAL_API)
const metadata = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
const as = await oauth.processDiscoveryResponse(issuer, metadata)

type Visitor = { state?: string; verifier?: string; token?: string }
const visitors = new Map<string, Visitor>() // in production: your sessions, and the tokens encrypted in your database

// The state binds the answer to this browser, the verifier binds the code to this app.
async function connect(req: Request, res: Response) {
  const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()]
  Object.assign(visitorOf(req, res), { state, verifier })
  const url = new URL(as.authorization_endpoint!)
  url.search = new URLSearchParams({
    ...{ client_id: CLIENT_ID, response_type: 'code', redirect_uri: redirectUri, state },
    ...{ scope: 'channels:read posts:read posts:write', code_challenge_method: 'S256' },
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  }).toString()
  res.redirect(url.href)
}

async function finish(req: Request, res: Response) {
  const visitor = visitorOf(req, res)
  const { state, verifier } = visitor
  if (!state || !verifier)
    return void res.status(400).send('This connection did not start in this browser, or is already complete.')
  // Throws if state or issuer is wrong, or with the error that the answer contains.
  const code = oauth.validateAuthResponse(as, client, new URL(req.url, redirectUri), state)
  delete visitor.state // an answer works once
  delete visitor.verifier
  const got = await oauth.authorizationCodeGrantRequest(as, client, auth, code, redirectUri, verifier, insecure)
  visitor.token = (await oauth.processAuthorizationCodeResponse(as, client, got)).access_token
  res.redirect('/')
}

async function post(req: Request, res: Response) {
  const headers = { authorization: `Bearer ${visitorOf(req, res).token}`, 'content-type': 'application/json' }
  const channels = await fetch(`${PUNCTUAL_API}/public/v1/channels`, { headers })
  const { data } = (await channels.json()) as { data: { id: string }[] }
  const body = JSON.stringify({ type: 'now', content: 'Hello!', channelIds: data.map(({ id }) => id) })
  const made = await fetch(`${PUNCTUAL_API}/public/v1/posts`, { method: 'POST', headers, body })
  res
    .status(made.status)
    .type('json')
    .send(await made.text())
}

async function disconnect(req: Request, res: Response) {
  const visitor = visitorOf(req, res)
  if (visitor.token) await oauth.revocationRequest(as, client, auth, visitor.token, insecure)
  delete visitor.token
  res.redirect('/')
}

// Every error is shown as plain text, because part of it came from outside.
function explain(error: unknown, _req: Request, res: Response, next: NextFunction) {
  if (error instanceof oauth.OperationProcessingError)
    return void res.status(400).send('We could not verify this answer.')
  if (!(error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError))
    return next(error)
  const said = error.error === 'access_denied' ? 'You denied access.' : `${error.error}: ${error.error_description}`
  res.status(400).type('text').send(said)
}

function visitorOf(req: Request, res: Response): Visitor {
  const known = visitors.get(req.headers.cookie?.match(/visitor=([\w-]+)/)?.[1] ?? '')
  if (known) return known
  const [id, visitor] = [randomUUID(), {}]
  visitors.set(id, visitor)
  res.cookie('visitor', id, { httpOnly: true, sameSite: 'lax' })
  return visitor
}

const app = express()
const form = (path: string) => `<form method="post" action="/${path}"><button>${path}</button></form>`
app.get('/', (req, res) => {
  res.send(visitorOf(req, res).token ? form('post') + form('disconnect') : '<a href="/connect">Connect Punctual</a>')
})
app.get('/connect', (req, res, next) => void connect(req, res).catch(next))
app.get('/callback', (req, res, next) => void finish(req, res).catch(next))
app.post('/post', (req, res, next) => void post(req, res).catch(next))
app.post('/disconnect', (req, res, next) => void disconnect(req, res).catch(next))
app.use(explain)
app.listen(Number(PORT), () => process.stdout.write(`http://localhost:${PORT}\n`))
