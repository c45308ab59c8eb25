import { routes } from '../../../server/rest/routes.ts'

const groups = [...new Set(routes.map(({ path }) => path.split('/')[1]!))]
const pages = [
  'authentication',
  'posts',
  'queues',
  'channels',
  'media',
  'webhooks',
  'oauth',
  'errors',
  'limits',
  'reference',
]

/** Every page of the documentation. */
export const documentationPaths = [
  '/docs',
  ...pages.map((name) => `/docs/${name}`),
  ...[...groups, 'schemas'].map((name) => `/docs/reference/${name}`),
]

/** What a page shows to be copied, as it is copied, in its order. */
export function samplesOf(page: string): string[] {
  return [...page.matchAll(/<pre[^>]*>([\s\S]*?)<\/pre>/g)].map(([, sample]) => textOf(sample!))
}

/** What a reader sees of HTML, where scripts do not run. */
export function textOf(html: string): string {
  return html
    .replaceAll(/<(script|style)[\s\S]*?<\/\1>/g, '')
    .replaceAll(/<!--.*?-->|<[^>]+>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll(/&#x27;|&#39;/g, "'")
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&')
}
