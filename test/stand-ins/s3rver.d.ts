declare module '@20minutes/s3rver' {
  import type { RequestListener } from 'node:http'

  class S3rver {
    constructor(options: Record<string, unknown>)
    configureBuckets(): Promise<unknown>
    callback(): RequestListener
  }
  export = S3rver
}
