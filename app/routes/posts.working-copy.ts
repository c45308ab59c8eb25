import { type ActionFunctionArgs, json, redirect } from '@remix-run/node'
import { v7 as uuidv7 } from 'uuid'
import type { Api } from '../../server/router.ts'
import { problemOf } from '../api.ts'
import { fileIdsOf } from '../posts/composer/typed.ts'
import type { SaveAnswer } from '../posts/working-copy/autosave.ts'

/** Where the composer saves what is typed (app/posts/working-copy/autosave.ts). There is no page here. */
export async function action({ context }: ActionFunctionArgs) {
  const { api, member } = context
  if (!member) return answerWith({ refused: 'signed-out' }, 401)
  try {
    const form = context.form()
    if (form.get('forOrganisation') !== member.organisationId) return answerWith({ refused: 'wrong-organisation' }, 409)
    const discarded = form.get('discard')
    if (discarded) {
      await api.workingCopies.discard({ id: String(discarded) })
      return answerWith({ revision: 0 })
    }
    const copy = JSON.parse(String(form.get('copy')))
    const revision = await api.workingCopies.save(copy)
    return revision ? answerWith({ revision }) : answerWith(await elsewhere(api, copy.id), 409)
  } catch (error) {
    if (error instanceof SyntaxError) return answerWith({ refused: 'invalid' }, 400)
    const { status, errors } = problemOf(error)
    if (status >= 500) return json(null, { status })
    if (status === 404) return answerWith({ gone: uuidv7() }, status)
    if (status === 409) return answerWith({ sent: uuidv7() }, status)
    return answerWith(
      { refused: errors.some(({ code }) => code === 'too_many_copies') ? 'too-many' : 'invalid' },
      status,
    )
  }
}

async function elsewhere(api: Api, id: string): Promise<SaveAnswer> {
  const copy = await api.workingCopies.get({ id })
  return { elsewhere: copy, files: copy ? await api.media.some({ ids: fileIdsOf(copy) }) : [] }
}

function answerWith(answer: SaveAnswer, status = 200) {
  return json(answer, status)
}

export function loader() {
  return redirect('/posts/new')
}
