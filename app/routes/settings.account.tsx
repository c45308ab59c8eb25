import { type FieldMetadata, getFormProps, useForm } from '@conform-to/react'
import { type ActionFunctionArgs, json, type LoaderFunctionArgs, type MetaFunction, redirect } from '@remix-run/node'
import { Form, useLoaderData } from '@remix-run/react'
import { useState } from 'react'
import { ChangePassword, MailChoice, UpdateAccount } from '../../server/accounts/forms.ts'
import { Nothing } from '../../server/forms.ts'
import { answer, formOf, type Member, shown, signedIn, withOthers } from '../api.ts'
import { accountStrings } from '../settings/strings.tsx'
import { WaitingAddress, WaitingAddressForm } from '../settings/waiting-address.tsx'
import { useSignOut } from '../shell/sign-out.ts'
import { useAnswer } from '../ui/forms/answer.ts'
import { Began } from '../ui/forms/began.tsx'
import { Submit } from '../ui/forms/button.tsx'
import { Hint } from '../ui/forms/control.tsx'
import { Field, FormErrors, Said, SelectField } from '../ui/forms/field.tsx'
import { Card, PageHead } from '../ui/page.tsx'
import { timeZones } from '../ui/time/time-zone.ts'

export const meta: MetaFunction = () => [{ title: accountStrings.pageTitle }]

export async function loader(args: LoaderFunctionArgs) {
  const { api, member } = signedIn(args)
  return json({ ...profileOf(member), zones: timeZones(member.timeZone), mail: await shown(api.mail.show()) })
}

function profileOf({ name, email, timeZone, weekStart, clock }: Member) {
  return { name, email, timeZone, weekStart: weekStart ?? 0, clock: clock ?? 0 }
}

export async function action(args: ActionFunctionArgs) {
  const { api, member } = signedIn(args)
  const form = formOf(args.context)
  if (form.get('intent') === 'password')
    return answer(form, ChangePassword, async (passwords) => {
      const session = await api.account.changePassword(passwords)
      return {
        said: accountStrings.password.changed,
        reset: true,
        ...(session && { headers: args.context.session.start(session) }),
      }
    })
  if (form.get('intent') === 'mail')
    return answer(form, MailChoice, async (choice) => {
      await api.mail.choose(choice)
      return { said: accountStrings.mail.saved }
    })
  if (form.get('intent') === 'verify')
    return answer(form, Nothing, async () => {
      await api.mail.sendAgain()
      return { said: accountStrings.mail.sentAgain }
    })
  if (form.get('intent') === 'new-address-again')
    return answer(form, Nothing, async () => {
      await api.newAddress.sendAgain()
      return { said: accountStrings.profile.sentAgain }
    })
  if (form.get('intent') === 'new-address-drop')
    return answer(form, Nothing, async () => {
      await api.newAddress.drop()
      return { said: accountStrings.profile.changeCancelled(member.email) }
    })
  if (form.get('intent') === 'everywhere') {
    await shown(api.account.signOutEverywhere())
    return redirect('/login', { headers: { 'Set-Cookie': args.context.session.end() } })
  }
  return answer(form, UpdateAccount, async ({ password, ...profile }, began) => {
    await api.account.update({ ...withOthers(profile, began, profileOf(member)), ...(password ? { password } : {}) })
    return { said: accountStrings.profile.saved, saved: profile }
  })
}

export default function Account() {
  return (
    <>
      <PageHead title={accountStrings.title} />
      <div className="space-y-6">
        <Card title={accountStrings.profile.title}>
          <Profile />
          <WaitingAddressForm />
        </Card>
        <MailCard />
        <Card title={accountStrings.password.title}>
          <Password />
        </Card>
        <Card title={accountStrings.sessions.title} lead={accountStrings.sessions.lead}>
          <Form method="post" onSubmit={useSignOut()}>
            <Submit look="danger" name="intent" value="everywhere">
              {accountStrings.sessions.signOutEverywhere}
            </Submit>
          </Form>
        </Card>
      </div>
    </>
  )
}

type ProfileFields = {
  name: string
  email: string
  timeZone: string
  weekStart: number
  clock: number
  password: string
}

function Profile() {
  const { zones, mail, ...account } = useLoaderData<typeof loader>()
  const { said, ...answered } = useAnswer('profile')
  const dropped = useAnswer('new-address-drop').said
  const waiting = mail?.newAddress
  const [form, fields] = useForm<ProfileFields>({ ...answered, defaultValue: account })
  // While another address waits, the field has the account's own again.
  const shownEmail = waiting && said ? account.email : fields.email.initialValue
  return (
    <Form method="post" {...getFormProps(form)} className="max-w-md space-y-5">
      <input type="hidden" name="intent" value="profile" />
      <Began intent="profile" values={account} />
      <FormErrors form={form} />
      <Field label={accountStrings.profile.name} field={fields.name} autoComplete="name" required />
      <EmailFields
        key={waiting?.id}
        email={fields.email}
        password={fields.password}
        currentEmail={account.email}
        shownEmail={shownEmail ?? account.email}
      />
      {waiting ? <WaitingAddress email={waiting.email} current={account.email} /> : <Said>{dropped}</Said>}
      <SelectField
        label={accountStrings.profile.timeZone}
        field={fields.timeZone}
        hint={accountStrings.profile.timeZoneHint}
      >
        {zones.map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </SelectField>
      <CalendarFields weekStart={fields.weekStart} clock={fields.clock} />
      <div className="flex items-center gap-4">
        <Submit look="primary">{accountStrings.profile.save}</Submit>
        <Said>{waiting && said ? accountStrings.profile.savedWaiting : said}</Said>
      </div>
    </Form>
  )
}

type CalendarFieldsProps = Record<'weekStart' | 'clock', FieldMetadata<number>>

/** How the calendar looks. */
function CalendarFields({ weekStart, clock }: CalendarFieldsProps) {
  const strings = accountStrings.profile
  return (
    <>
      <SelectField label={strings.weekStart} field={weekStart} hint={strings.calendarHint}>
        {strings.weekStarts.map(([day, name]) => (
          <option key={day} value={day}>
            {name}
          </option>
        ))}
      </SelectField>
      <SelectField label={strings.clock} field={clock} hint={strings.calendarHint}>
        {strings.clocks.map(([hours, name]) => (
          <option key={hours} value={hours}>
            {name}
          </option>
        ))}
      </SelectField>
    </>
  )
}

type EmailFieldsProps = Record<'email' | 'password', FieldMetadata<string>> &
  Record<'currentEmail' | 'shownEmail', string>

/** The e-mail address, and after a change of it, the password. */
function EmailFields({ email, password, currentEmail, shownEmail }: EmailFieldsProps) {
  const [typed, setTyped] = useState(shownEmail)
  const asksPassword = typed.trim().toLowerCase() !== currentEmail.toLowerCase()
  return (
    <>
      <Field
        label={accountStrings.profile.email}
        field={email}
        type="email"
        autoComplete="email"
        required
        defaultValue={shownEmail}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      {asksPassword || password.errors ? (
        <Field
          label={accountStrings.profile.currentPassword}
          field={password}
          type="password"
          autoComplete="current-password"
          hint={accountStrings.profile.currentPasswordHint}
        />
      ) : null}
    </>
  )
}

/** What we mail, if this installation sends mail. */
function MailCard() {
  const { email, mail } = useLoaderData<typeof loader>()
  if (!mail) return null
  return (
    <Card title={accountStrings.mail.title}>
      <div id="mail" className="max-w-md space-y-5">
        {mail.isVerified ? null : <Unverified email={email} />}
        <Notices wantsNotices={mail.wantsNotices} />
      </div>
    </Card>
  )
}

function Unverified({ email }: { email: string }) {
  const { said } = useAnswer('verify')
  return (
    <Form method="post" className="space-y-3 rounded-lg bg-sunken px-3.5 py-3">
      <p className="text-sm [overflow-wrap:anywhere]">{accountStrings.mail.unverified(email)}</p>
      <div className="flex flex-wrap items-center gap-4">
        <Submit name="intent" value="verify">
          {accountStrings.mail.sendAgain}
        </Submit>
        <Said>{said}</Said>
      </div>
    </Form>
  )
}

function Notices({ wantsNotices }: { wantsNotices: boolean }) {
  const { said } = useAnswer('mail')
  return (
    <Form method="post" className="space-y-4">
      <div>
        <label className="flex cursor-pointer gap-3">
          <input
            type="checkbox"
            name="wantsNotices"
            defaultChecked={wantsNotices}
            aria-describedby="notices-hint"
            className="mt-1 size-4 shrink-0 accent-accent"
          />
          {accountStrings.mail.notices}
        </label>
        <Hint id="notices-hint">{accountStrings.mail.noticesHint}</Hint>
      </div>
      <div className="flex flex-wrap items-center gap-4">
        <Submit name="intent" value="mail">
          {accountStrings.mail.save}
        </Submit>
        <Said>{said}</Said>
      </div>
    </Form>
  )
}

function Password() {
  const { said, ...answered } = useAnswer('password')
  const [form, fields] = useForm<{ current: string; password: string }>(answered)
  return (
    <Form method="post" {...getFormProps(form)} className="max-w-md space-y-5">
      <input type="hidden" name="intent" value="password" />
      <FormErrors form={form} />
      <Field
        label={accountStrings.password.current}
        field={fields.current}
        type="password"
        autoComplete="current-password"
        required
      />
      <Field
        label={accountStrings.password.new}
        field={fields.password}
        type="password"
        autoComplete="new-password"
        hint={accountStrings.password.newHint}
        required
      />
      <div className="flex flex-wrap items-center gap-4">
        <Submit>{accountStrings.password.change}</Submit>
        <Said>{said}</Said>
      </div>
    </Form>
  )
}
