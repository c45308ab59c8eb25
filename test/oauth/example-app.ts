import { randomUUID } from 'node:crypto'
import express from 'express'
import * as oauth from 'oauth4webapi'

// An app that posts for its users. Register http://localhost:4000/callback as its redirect URL, set CLIENT_ID and CLIENT_SECRET, run it.
const { PUNCTUAL_API = 'http://localhost:3000', CLIENT_ID = '', CLIENT_SECRET = '', PORT = '4000' } = process.env
const redirectUri = `http://localhost:${PORT}/callback`
const client = { client_id: CLIENT_ID }
const clientAuth = oauth.ClientSecretBasic(CLIENT_SECRET)
const insecure = { [oauth.allowInsecureRequests]: true } // while Punctual is on http://localhost; leave it out elsewhere

const issuer = new URL(PUNCTUAL_API)
const metadata = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
const server = await oauth.processDiscoveryResponse(issuer, metadata)

type Visitor = { state?: string; verifier?: string; token?: string }
const visitors = new Map<string, Visitor>() // in earnest: your sessions, and the tokens encrypted in your database

const app = express()
app.listen(Number(PORT))

app.get('/', (req, res) => {
  const form = (path: string) => `<form method="post" action="/${path}"><button>${path}</button></form>`
  res.send(visitorOf(req, res).token ? form('post') + form('disconnect') : '<a href="/connect">Connect Punctual</a>')
})

// State ties the answer to this browser, the verifier ties the code to this app.
app.get('/connect', async (req, res) => {
  const visitor = Object.assign(visitorOf(req, res), {
    state: oauth.generateRandomState(),
    verifier: oauth.generateRandomCodeVerifier(),
  })
  const url = new URL(server.authorization_endpoint!)
  url.search = new URLSearchParams({
    ...{ client_id: CLIENT_ID, response_type: 'code', redirect_uri: redirectUri, state: visitor.state },
    ...{ scope: 'channels:read posts:read posts:write', code_challenge_method: 'S256' },
    code_challenge: await oauth.calculatePKCECodeChallenge(visitor.verifier),
  }).toString()
  res.redirect(url.href)
})

app.get('/callback', (req, res, next) => void finish(req, res).catch(next))
app.post('/post', (req, res, next) => void post(req, res).catch(next))
app.post('/disconnect', (req, res, next) => void disconnect(req, res).catch(next))

async function finish(req: express.Request, res: express.Response) {
  const visitor = visitorOf(req, res)
  const { state, verifier } = visitor
  if (!state || !verifier) return void res.status(400).send('This was not begun in this browser.')
  const answer = new URL(req.url, redirectUri)
  if (answer.searchParams.get('error') === 'access_denied') return void res.status(403).send('You said no.')
  const code = oauth.validateAuthResponse(server, client, answer, state) // state and issuer must be right
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    clientAuth,
    code,
    redirectUri,
    verifier,
    insecure,
  )
  visitor.token = (await oauth.processAuthorizationCodeResponse(server, client, response)).access_token
  res.redirect('/')
}

async function post(req: express.Request, res: express.Response) {
  const headers = { authorization: `Bearer ${visitorOf(req, res).token}`, 'content-type': 'application/json' }
  const channels = (await (await fetch(`${PUNCTUAL_API}/public/v1/channels`, { headers })).json()) as {
    data: { id: string }[]
  }
  const body = { type: 'now', content: 'Hello from the example', channelIds: channels.data.map(({ id }) => id) }
  const made = await fetch(`${PUNCTUAL_API}/public/v1/posts`, { method: 'POST', headers, body: JSON.stringify(body) })
  res
    .status(made.status)
    .type('json')
    .send(await made.text())
}

async function disconnect(req: express.Request, res: express.Response) {
  const visitor = visitorOf(req, res)
  if (visitor.token) await oauth.revocationRequest(server, client, clientAuth, visitor.token, insecure)
  delete visitor.token
  res.redirect('/')
}

function visitorOf(req: express.Request, res: express.Response): Visitor {
  const known = visitors.get(req.headers.cookie?.match(/visitor=([\w-]+)/)?.[1] ?? '')
  if (known) return known
  const id = randomUUID()
  const visitor = {}
  visitors.set(id, visitor)
  res.cookie('visitor', id, { httpOnly: true, sameSite: 'lax' })
  return visitor
}
