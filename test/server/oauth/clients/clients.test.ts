import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anApp, browsed, Callback, type Flow, me, openFlow, type TestApp } from '../flow.ts'
import { clients, type Meeting, openOauth4webapi } from './clients.ts'

describe.each(['one', 'two'] as const)('with app and API on %s host(s)', (hosts) => {
  let f: Flow
  let app: TestApp
  const AuthCallback = 'https://shop.example/auth/callback/punctual'
  beforeAll(async () => {
    f = await openFlow({ hosts })
    app = await anApp(f.maker, [Callback, AuthCallback])
  })
  afterAll(() => f.end())

  const meeting = (name: string): Meeting => ({
    ...{ appUrl: f.appUrl, baseUrl: f.baseUrl, clientId: app.clientId, clientSecret: app.clientSecret },
    redirectUri: name === '@auth/core' ? AuthCallback : Callback,
    browse: async (url) => {
      const { origin, pathname, search } = new URL(url)
      expect(origin + pathname).toBe(`${f.appUrl}/oauth/authorize`)
      return (await browsed(f, search.slice(1))).url
    },
  })

  test.each(Object.entries(clients))('%s, unmodified, gets a token that works', async (name, run) => {
    const { token, revoked } = await run(meeting(name))
    const answer = await me(f, token)
    expect(answer.json).toMatchObject({ organisation: { id: f.approver.organisationId }, credential: { kind: 'app' } })
    if (revoked) expect((await me(f, revoked)).status).toBe(401)
  })

  test('oauth4webapi introspects its token, revokes it, and finds it inactive', async () => {
    const { token, introspect, revoke } = await openOauth4webapi(meeting('oauth4webapi'))
    expect(await introspect()).toMatchObject({ active: true, client_id: app.clientId, iss: f.baseUrl })
    await revoke()
    expect(await introspect()).toEqual({ active: false })
    expect((await me(f, token)).status).toBe(401)
  })
})
