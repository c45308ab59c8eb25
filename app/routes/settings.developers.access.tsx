import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { Form, Link, useActionData, useLoaderData } from '@remix-run/react'
import { KeyRound } from 'lucide-react'
import { z } from 'zod'
import { instantOf } from '../../jobs/wall-clock.ts'
import { defaultScopes, scopes } from '../../server/access/scopes.ts'
import { NewKey } from '../../server/accounts/forms.ts'
import { ById } from '../../server/forms.ts'
import { answer, formOf, signedIn } from '../api.ts'
import { KeyForm, NewKeyShown } from '../developers/key-form.tsx'
import { keyStrings } from '../developers/strings.tsx'
import { Instant } from '../shell/instant.tsx'
import { mayManage } from '../shell/permissions.ts'
import { PostForm } from '../shell/post-form.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { Button } from '../ui/forms/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Empty, PageHead } from '../ui/page.tsx'

export const meta: MetaFunction = () => [{ title: keyStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  const mayMake = mayManage(member.role)
  const asked = Object.fromEntries(new URL(args.request.url).searchParams)
  const keys = mayMake ? await api.keys.list() : []
  return json({ keys, mayMake, asked, scopes, defaultScopes, baseUrl: args.context.baseUrl })
}

export async function action(args: ActionFunctionArgs) {
  const { api, member } = signedIn(args)
  const form = formOf(args.context)
  if (form.get('intent') === 'revoke')
    return answer(form, ById, async (wanted) => {
      await api.keys.revoke(wanted)
      return redirect('/settings/developers/access?revoked')
    })
  // The API gives default scopes when none are named. In this form, choosing none is a mistake.
  const scopes = NewKey.shape.scopes.unwrap()
  const expiresAt = z.preprocess((day) => day && endOfDay(String(day), member.timeZone), NewKey.shape.expiresAt)
  return answer(form, NewKey.extend({ scopes, expiresAt }), async ({ expiresAt, ...wanted }) => {
    const { key } = await api.keys.create({ ...wanted, expiresAt: expiresAt?.toISOString() })
    return json({ key })
  })
}

function endOfDay(day: string, zone: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return day
  return instantOf(day, '24:00', zone)?.toISOString() ?? `${day}T00:00:00Z` // a day that no calendar has: the schema refuses it
}

const link = 'text-accent-ink underline underline-offset-2'

export default function Access() {
  const { mayMake, asked, keys, baseUrl } = useLoaderData<typeof loader>()
  const made = useActionData() as { key?: string } | undefined
  if (!mayMake) return <PageHead title={keyStrings.title} lead={keyStrings.forManagersOnly} />
  return (
    <>
      <PageHead
        title={keyStrings.title}
        lead={keyStrings.lead(
          <Link to="/docs/reference" className={link}>
            {keyStrings.reference}
          </Link>,
        )}
      >
        <Form preventScrollReset>
          <Button type="submit" name="generate" value="" look="primary">
            {keyStrings.generateKey}
          </Button>
        </Form>
      </PageHead>
      {'revoked' in asked ? <Notice>{keyStrings.revoked}</Notice> : null}
      <div className="space-y-6">
        {made?.key ? <NewKeyShown value={made.key} baseUrl={baseUrl} /> : null}
        {'generate' in asked && !made?.key ? <KeyForm /> : null}
        {keys.length > 0 ? <Keys /> : <NoKeys />}
      </div>
    </>
  )
}

function Keys() {
  const { keys, asked } = useLoaderData<typeof loader>()
  return (
    <ul className="divide-y divide-line rounded-2xl border border-line bg-panel shadow-sm">
      {keys.map((key) => (
        <li key={key.id} className="px-4 py-4 sm:px-5">
          <div className="flex flex-wrap items-center gap-x-4 gap-y-3">
            <KeyFacts of={key} />
            <Form preventScrollReset>
              <Button type="submit" name="revoke" value={key.id} aria-describedby={`key-${key.id}`}>
                {keyStrings.list.revoke}
              </Button>
            </Form>
          </div>
          {asked.revoke === key.id ? <Revocation id={key.id} name={key.name} /> : null}
        </li>
      ))}
    </ul>
  )
}

type Key = ReturnType<typeof useLoaderData<typeof loader>>['keys'][number]

function KeyFacts({ of: key }: { of: Key }) {
  const { lastUsed, neverUsed, requests } = keyStrings.list
  return (
    <div className="min-w-48 flex-1">
      <p id={`key-${key.id}`} className="font-medium">
        {key.name} <code className="ml-1 font-mono text-sm font-normal text-muted">…{key.last4}</code>
      </p>
      <p className="text-sm text-muted">{key.scopes.join(' · ')}</p>
      <p className="mt-1 text-sm text-muted">
        {key.lastUsedAt ? lastUsed(<Instant at={key.lastUsedAt} />) : neverUsed}
        {' · '}
        <Expiry of={key} />
        {' · '}
        <Link
          to={`/settings/developers/requests?credential=${key.id}`}
          aria-describedby={`key-${key.id}`}
          className={link}
        >
          {requests}
        </Link>
      </p>
    </div>
  )
}

function Expiry({ of: key }: { of: { expiresAt: string | null; expired: boolean } }) {
  const { neverExpires, expired, expires } = keyStrings.list
  if (!key.expiresAt) return neverExpires
  if (key.expired) return <span className="text-warn">{expired(<Instant at={key.expiresAt} form="day" />)}</span>
  return expires(<Instant at={key.expiresAt} />)
}

function Revocation({ id, name }: { id: string; name: string }) {
  const strings = keyStrings.revocation
  return (
    <PostForm className="mt-4">
      <input type="hidden" name="intent" value="revoke" />
      <input type="hidden" name="id" value={id} />
      <Confirm
        title={strings.title(name)}
        lead={strings.lead}
        does={strings.revoke}
        keeps={strings.keep}
        backTo="/settings/developers/access"
      />
    </PostForm>
  )
}

function NoKeys() {
  return (
    <Empty icon={<KeyRound aria-hidden />} title={keyStrings.none.title}>
      <p>{keyStrings.none.text}</p>
    </Empty>
  )
}
