import { ArrowUpRight } from 'lucide-react'
import { useApp } from '../developers/apps/app.ts'
import { AppAttempts } from '../developers/apps/app-attempts.tsx'
import { NamedSnippet } from '../ui/copy.tsx'
import { ExternalLink } from '../ui/forms/button.tsx'
import { Card } from '../ui/page.tsx'

/** The flow with the app's own values, and what came of trying it. */
export default function TryIt() {
  const values = useApp()
  const link = authorizeLink(values)
  return (
    <div className="space-y-6">
      <Card
        title="1. Send a person here"
        lead="They sign in, choose what the app may use, and come back to your redirect URL with a code and your state."
      >
        <NamedSnippet title="Authorize link" copyName="Copy authorize link" text={link}>
          <ExternalLink href={link}>
            Open it <ArrowUpRight aria-hidden />
          </ExternalLink>
        </NamedSnippet>
        <p className="mt-3 text-sm text-muted">
          Make a <code className="font-mono">state</code> of your own for each request and compare it when the person
          comes back. With <code className="font-mono">code_challenge</code> (S256) nobody else can use the code.
        </p>
      </Card>
      <Card title="2. Swap the code for a token" lead="On your server, within 10 minutes and once.">
        <div className="space-y-5">
          <NamedSnippet title="In a terminal" copyName="Copy token request for a terminal" text={curlOf(values)} />
          <NamedSnippet title="In JavaScript" copyName="Copy token request in JavaScript" text={scriptOf(values)} />
        </div>
      </Card>
      <Card title="3. Use the token" lead="It acts for the one organisation that approved, until it is revoked.">
        <NamedSnippet
          title="Whose it is and what it may do"
          copyName="Copy call with the token"
          text={`curl ${values.baseUrl}/public/v1/me -H "Authorization: Bearer $ACCESS_TOKEN"`}
        />
      </Card>
      <AppAttempts attempts={values.app.attempts} />
    </div>
  )
}

type Values = ReturnType<typeof useApp>

function authorizeLink({ app, appUrl }: Values): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: app.clientId,
    redirect_uri: app.redirectUris[0]!,
    state: 'made-by-you',
  })
  return `${appUrl}/oauth/authorize?${query}`
}

function curlOf({ app, baseUrl }: Values): string {
  const lines = [
    `curl ${baseUrl}/oauth/token`,
    '-d grant_type=authorization_code',
    `-d client_id=${app.clientId}`,
    '-d client_secret="$CLIENT_SECRET"',
    `--data-urlencode redirect_uri=${quoted(app.redirectUris[0]!)}`,
    '-d code="$CODE"',
  ]
  return lines.join(' \\\n  ')
}

// For a shell: a redirect URL may hold quotes and ampersands.
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function scriptOf({ app, baseUrl }: Values): string {
  return `const answer = await fetch('${baseUrl}/oauth/token', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    grant_type: 'authorization_code',
    client_id: '${app.clientId}',
    client_secret: process.env.CLIENT_SECRET,
    redirect_uri: ${JSON.stringify(app.redirectUris[0])},
    code, // from the query of your redirect URL
  }),
})
const { access_token, id } = await answer.json() // id is the organisation's`
}
