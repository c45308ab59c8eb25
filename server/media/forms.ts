import { z } from 'zod'
import { cursor, Id, limit, text } from '../forms.ts'

const Alt = text(1500)
export const UploadFromUrl = z.strictObject({ url: text(2000).min(1, 'Required.'), alt: Alt.optional() })
export const UploadFile = z.strictObject({ alt: Alt.default('') })
export const UpdateMedia = z.strictObject({ id: Id, alt: Alt })
export const ListMedia = z.strictObject({ limit, cursor })
export const MediaOfPost = z.strictObject({ postId: Id })
export const SomeMedia = z.strictObject({ ids: z.array(Id).max(20 + 50 * 20) }) // of a post and of each of its channels
