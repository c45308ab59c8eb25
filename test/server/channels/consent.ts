import type { Api } from '../../../server/router.ts'
import type { FakeMastodon } from '../../jobs/networks/mastodon/mastodon.fake.ts'

/** The address of the consent page of `server`, as the person's browser is sent there. `channelId`: to reconnect it. */
export async function beginAt(api: Api, { url: instance }: Pick<FakeMastodon, 'url'>, channelId?: string) {
  const asked = { network: 'mastodon', input: { instance }, ...(channelId ? { channelId } : {}) }
  const begun = await api.channels.connect(asked)
  if (!('url' in begun)) throw new Error('It was connected without a consent page.')
  return begun.url
}

/** What the page of the callback does with the address that it is called at. */
export function comeBack(api: Api, { pathname, searchParams }: URL) {
  const [, server] = /^\/channels\/connected\/([^/]+)$/.exec(pathname) ?? []
  const { state = '', ...answer } = Object.fromEntries(searchParams)
  return api.channels.finish({ state, ...answer, ...(server ? { server } : {}) })
}

/** Connect the account of `server`, or reconnect the channel of it, all the way. */
export async function connectAt(api: Api, server: FakeMastodon, channelId?: string) {
  return comeBack(api, server.consent(await beginAt(api, server, channelId)))
}
