import { getFormProps, useForm } from '@conform-to/react'
import { type ActionFunctionArgs, json, redirect } from '@remix-run/node'
import { useActionData } from '@remix-run/react'
import { ById } from '../../server/forms.ts'
import { DeleteApp } from '../../server/oauth/forms.ts'
import { answer, signedIn, withOthers } from '../api.ts'
import { useApp } from '../developers/apps/app.ts'
import { AppForm, RemovePicture } from '../developers/apps/app-form.tsx'
import { withUpload } from '../developers/apps/app-picture.ts'
import { ChangedApp, RotatedSecret } from '../developers/apps/registration.ts'
import { appStrings } from '../developers/apps/strings.tsx'
import { Instant } from '../shell/instant.tsx'
import { PostForm } from '../shell/post-form.tsx'
import { Copyable } from '../ui/copy.tsx'
import { useAnswer } from '../ui/forms/answer.ts'
import { Submit } from '../ui/forms/button.tsx'
import { FieldErrors } from '../ui/forms/control.tsx'
import { Field, FormErrors, Said } from '../ui/forms/field.tsx'
import { Card, Panel } from '../ui/page.tsx'

export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  return withUpload(args.context, 'picture', async (form, path) => {
    if (form.get('intent') === 'rotate')
      return answer(form, RotatedSecret, async (wanted) => json({ rotated: await api.apps.rotate(wanted) }))
    if (form.get('intent') === 'delete')
      return answer(form, DeleteApp, async (wanted) => {
        await api.apps.delete(wanted)
        return redirect('/settings/developers/apps?deleted')
      })
    if (form.get('intent') === 'remove-picture')
      return answer(form, ById, async (wanted) => {
        await api.apps.removePicture(wanted)
        return { said: appStrings.form.pictureRemoved }
      })
    return answer(form, ChangedApp, async ({ picture: _, ...change }, began) => {
      const { id } = change
      if (path) await api.apps.setPicture({ id, path })
      await api.apps.update(withOthers(change, began, await api.apps.get({ id })))
      return { said: appStrings.form.saved, saved: change }
    })
  })
}

export default function AppPage() {
  const { app } = useApp()
  const { rotated } = (useActionData() ?? {}) as { rotated?: { clientSecret: string } }
  const { said } = useAnswer('save')
  const removed = useAnswer('remove-picture')
  const { form, profile, credentials, deletion } = appStrings
  return (
    <div className="space-y-6">
      {rotated ? (
        <Panel title={credentials.rotatedTitle} lead={credentials.rotatedLead}>
          <Copyable copyName={credentials.copyRotated} text={rotated.clientSecret} />
        </Panel>
      ) : null}
      <Card title={profile}>
        <AppForm key={app.id} intent="save" app={app}>
          <Submit look="primary">{form.save}</Submit>
          <Said>{said ?? removed.said}</Said>
        </AppForm>
        {/* Its button is beside the picture, inside the form above: a form cannot contain another. */}
        <PostForm id={RemovePicture}>
          <input type="hidden" name="intent" value="remove-picture" />
          <input type="hidden" name="id" value={app.id} />
        </PostForm>
      </Card>
      <Card title={credentials.title}>
        <div className="space-y-5">
          <Copyable label={credentials.clientId} copyName={credentials.copyClientId} text={app.clientId} />
          <Secrets />
          <Rotation />
        </div>
      </Card>
      <Card title={deletion.title} lead={deletion.lead}>
        <Deletion />
      </Card>
    </div>
  )
}

function Secrets() {
  const strings = appStrings.credentials
  const { app } = useApp()
  return (
    <div>
      <h3 className="mb-1 text-sm font-medium">{strings.clientSecret}</h3>
      <ul className="text-sm text-muted">
        {app.secrets.map(({ id, last4, createdAt, expiresAt }) => (
          <li key={id}>
            {expiresAt
              ? strings.endingSecret(<Ending of={last4} />, <Instant at={createdAt} />, <Instant at={expiresAt} />)
              : strings.secret(<Ending of={last4} />, <Instant at={createdAt} />)}
          </li>
        ))}
      </ul>
    </div>
  )
}

function Ending({ of: last4 }: { of: string }) {
  return <code className="font-mono text-ink">…{last4}</code>
}

function Rotation() {
  const strings = appStrings.credentials
  const { app } = useApp()
  const [form, fields] = useForm<{ id: string; overlap: string }>(useAnswer('rotate'))
  return (
    <PostForm {...getFormProps(form)} className="space-y-3">
      <FormErrors form={form} />
      <p className="text-sm text-muted">{strings.rotation}</p>
      <Overlap value="yes" says={strings.overlap} />
      <Overlap value="no" says={strings.noOverlap} />
      <FieldErrors id={fields.overlap.errorId} errors={fields.overlap.errors} />
      <div>
        <input type="hidden" name="intent" value="rotate" />
        <input type="hidden" name="id" value={app.id} />
        <Submit>{strings.rotate}</Submit>
      </div>
    </PostForm>
  )
}

function Overlap({ value, says }: { value: string; says: string }) {
  return (
    <label className="flex w-fit cursor-pointer gap-3 text-sm">
      <input type="radio" name="overlap" value={value} required className="mt-1 size-4 shrink-0 accent-accent" />
      {says}
    </label>
  )
}

function Deletion() {
  const { app } = useApp()
  const [form, fields] = useForm<{ id: string; name: string }>(useAnswer('delete'))
  return (
    <PostForm {...getFormProps(form)} autoComplete="off" className="max-w-md space-y-4">
      <FormErrors form={form} />
      <Field label={appStrings.deletion.confirm(app.name)} field={fields.name} required />
      <div>
        <input type="hidden" name="intent" value="delete" />
        <input type="hidden" name="id" value={app.id} />
        <Submit look="danger">{appStrings.deletion.delete}</Submit>
      </div>
    </PostForm>
  )
}
