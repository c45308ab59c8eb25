import { formOf, type LoadContext } from '../../api.ts'

/**
 * Do `does` with a form that may have a file in its field `name`. `path` is null when none was chosen; the form has the
 * file's name in the field otherwise.
 */
export async function withUpload<T>(
  context: LoadContext,
  name: string,
  does: (form: FormData, path: string | null) => Promise<T>,
): Promise<T> {
  const { upload } = context
  return does(formOf(context), upload?.name === name ? upload.path : null)
}
