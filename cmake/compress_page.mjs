// Compresses the files of a page: node compress_page.mjs FOLDER. Beside each file that manifest.json
// names it writes FILE.gz and FILE.br, where they are smaller than the file.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const folder = process.argv[2]
for (const { file } of JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))) {
  const path = join(folder, file)
  const bytes = readFileSync(path)
  const forms = {
    gz: gzipSync(bytes, { level: 9 }),
    br: brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  }
  for (const [ending, form] of Object.entries(forms)) {
    rmSync(`${path}.${ending}`, { force: true })
    if (form.length < bytes.length) writeFileSync(`${path}.${ending}`, form)
  }
}
