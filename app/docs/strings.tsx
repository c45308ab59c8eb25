import type { ReactNode } from 'react'

/** What the pages of the documentation say, beside the guides in docs/. A page's name is also its heading. */
export const docsStrings = {
  navigation: 'Documentation',
  product: 'Punctual',
  pages: {
    quickstart: 'Quickstart',
    authentication: 'Authentication',
    posts: 'Posts',
    queues: 'Queues',
    channels: 'Channels',
    media: 'Media',
    webhooks: 'Webhooks',
    oauth: 'OAuth apps',
    errors: 'Errors',
    limits: 'Limits and versions',
    reference: 'API reference',
  },
  pageTitle: (name: string) => `${name} · Punctual`,
  notFound: 'Not found',
  contents: 'On this page',
  copyExample: (number: number, section: string) => `Copy example ${number} of ${section}`,

  errors: {
    lead: 'What each code means, and what to do about it.',
    faults: 'Codes in the errors of a 422',
  },
}

/** What the pages of the API reference say. */
export const referenceStrings = {
  groupPageTitle: (name: string) => `${name} · API reference · Punctual`,
  lead: (baseUrl: ReactNode, openApi: ReactNode) => (
    <>
      All endpoints under {baseUrl}, also as {openApi}.
    </>
  ),
  openApi: 'OpenAPI 3.1',
  openApiGroup: 'OpenAPI document',

  schemas: 'Schemas',
  schemasLead: 'The objects that the API returns, with their members.',
  members: 'Members',

  endpoint: {
    copyCall: (title: string) => `Copy curl command: ${title}`,
    parameters: 'Parameters',
    body: (form: number, forms: number) => (forms > 1 ? `Body, form ${form} of ${forms}` : 'Body'),
    response: (label: ReactNode, response: string) => (
      <>
        {label} {response}
      </>
    ),
    responseLabel: 'Returns',
    refusalsLabel: 'Errors',
    required: 'required',
  },
}
