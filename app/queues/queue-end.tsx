import { Form } from '@remix-run/react'
import { PostForm } from '../shell/post-form.tsx'
import { Button, ButtonLink, Submit } from '../ui/forms/button.tsx'
import { Panel } from '../ui/page.tsx'
import { queueStrings } from './strings.tsx'

const strings = queueStrings.form

/** Makes a queue the default one. */
export function MakeDefault() {
  return (
    <PostForm className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <Submit name="intent" value="default">
        {strings.makeDefault}
      </Submit>
      <p className="text-sm text-muted">{strings.makeDefaultLead}</p>
    </PostForm>
  )
}

/** Deletes a queue, after a question. */
export function DeleteQueue({ name, isAsked }: { name: string; isAsked: boolean }) {
  if (!isAsked)
    return (
      <Form preventScrollReset>
        <Button type="submit" name="delete" value="ask" look="danger">
          {strings.delete}
        </Button>
      </Form>
    )
  return (
    <Panel title={strings.confirmDelete(name)} lead={strings.confirmLead}>
      <PostForm className="flex gap-2">
        <Submit look="danger" name="intent" value="delete">
          {strings.delete}
        </Submit>
        <ButtonLink to="?" look="quiet">
          {strings.keep}
        </ButtonLink>
      </PostForm>
    </Panel>
  )
}
