import { ArrowUpRight } from 'lucide-react'
import { useApp } from '../developers/apps/app.ts'
import { AppAttempts } from '../developers/apps/app-attempts.tsx'
import { tryStrings } from '../developers/apps/strings.tsx'
import { NamedSnippet } from '../ui/copy.tsx'
import { ExternalLink } from '../ui/forms/button.tsx'
import { Card } from '../ui/page.tsx'

/** The OAuth flow with the app's own values, and its last attempts. */
export default function TryIt() {
  const values = useApp()
  const link = authorizeLink(values)
  return (
    <div className="space-y-6">
      <Card title={tryStrings.sendTitle} lead={tryStrings.sendLead}>
        <NamedSnippet title={tryStrings.link} copyName={tryStrings.copyLink} text={link}>
          <ExternalLink href={link}>
            {tryStrings.openLink} <ArrowUpRight aria-hidden />
          </ExternalLink>
        </NamedSnippet>
        <p className="mt-3 text-sm text-muted">
          {tryStrings.stateNote(
            <code className="font-mono">state</code>,
            <code className="font-mono">code_challenge</code>,
          )}
        </p>
      </Card>
      <Card title={tryStrings.exchangeTitle} lead={tryStrings.exchangeLead}>
        <div className="space-y-5">
          <NamedSnippet title={tryStrings.terminal} copyName={tryStrings.copyTerminal} text={curlOf(values)} />
          <NamedSnippet title={tryStrings.script} copyName={tryStrings.copyScript} text={scriptOf(values)} />
        </div>
      </Card>
      <Card title={tryStrings.useTitle} lead={tryStrings.useLead}>
        <NamedSnippet
          title={tryStrings.use}
          copyName={tryStrings.copyUse}
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

// For a shell: a redirect URL may contain quotes and ampersands.
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
