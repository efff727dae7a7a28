// Builds the page: node build.mjs [OUT], default dist/. OUT gets index.html, assets/ with hashes in
// their names, and manifest.json: [{"path", "file", "type", "immutable"}], in which "path" is that of
// the URL and "file" that in OUT. The build fails if a part is above its budget (gzip).
import { build } from 'esbuild'
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const here = dirname(fileURLToPath(import.meta.url))
const out = resolve(process.argv[2] ?? join(here, 'dist'))
const kKiB = 1024
/** The budgets in KiB: of the first load, of each part that loads later, and of all files, gzip and brotli. */
const kBudgets = { 'first load': 60, graph: 22, chart: 25, editor: 140, 'all, gzip and brotli': 550 }

rmSync(out, { recursive: true, force: true })
mkdirSync(join(out, 'assets'), { recursive: true })

const { metafile: meta } = await build({
  entryPoints: { app: 'src/main.tsx', style: 'src/style.css' },
  outdir: join(out, 'assets'),
  absWorkingDir: here,
  bundle: true,
  splitting: true,
  format: 'esm',
  minify: true,
  metafile: true,
  legalComments: 'none',
  target: ['es2022'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  logLevel: 'warning',
})

const outputs = Object.entries(meta.outputs).map(([path, output]) => ({ ...output, file: path.split('/').pop() }))
const script = outputs.find((output) => output.entryPoint === 'src/main.tsx')
const style = outputs.find((output) => output.entryPoint === 'src/style.css')
const html = readFileSync(join(here, 'src/index.html'), 'utf8')
  .replace('{{script}}', `assets/${script.file}`)
  .replace('{{style}}', `assets/${style.file}`)
writeFileSync(join(out, 'index.html'), html)
writeFileSync(join(out, 'assets/licences.txt'), licences(Object.keys(meta.inputs)))

/** The licences of the packages that are in the bundle, each with its name and version. */
function licences(inputs) {
  const folders = new Set()
  for (const input of inputs) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)
    if (match) folders.add(match[1])
  }
  return [...folders].sort().map((folder) => {
    const folderPath = join(here, folder)
    const about = JSON.parse(readFileSync(join(folderPath, 'package.json'), 'utf8'))
    const file = readdirSync(folderPath).find((name) => /^licen[cs]e/i.test(name))
    const text = file ? readFileSync(join(folderPath, file), 'utf8').trim() : ''
    return `${about.name} ${about.version}: ${about.license}\n\n${text}\n`
  }).join('\n----------\n\n')
}

const kTypes = {
  html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', txt: 'text/plain; charset=utf-8',
}
const files = ['index.html', ...readdirSync(join(out, 'assets')).sort().map((name) => `assets/${name}`)]
const manifest = files.map((file) => ({
  path: file === 'index.html' ? '/' : `/${file}`,
  file,
  type: kTypes[file.split('.').pop()],
  immutable: /-[A-Z0-9]{8}\.(js|css)$/.test(file),
  sha256: createHash('sha256').update(readFileSync(join(out, file))).digest('hex'),
}))
writeFileSync(join(out, 'manifest.json'), `${JSON.stringify(manifest, null, 1)}\n`)

/** The files that an output imports statically, with itself. */
function staticClosure(output, seen = new Set()) {
  if (seen.has(output.file)) return seen
  seen.add(output.file)
  for (const item of output.imports) {
    if (item.kind !== 'import-statement') continue
    staticClosure(outputs.find((other) => other.file === item.path.split('/').pop()), seen)
  }
  return seen
}

const gzipSize = (file) => gzipSync(readFileSync(join(out, file)), { level: 9 }).length
const sum = (names) => [...names].reduce((total, name) => total + gzipSize(name), 0)
const assets = (names) => [...names].map((name) => `assets/${name}`)
const first = staticClosure(script)
const later = (source) => {
  const output = outputs.find((other) => other.entryPoint === source)
  if (output === undefined) throw new Error(`build.mjs: no file was built from ${source}, which has a budget; expected is a file of this name that the page imports with import(): correct the name in build.mjs`)
  return [...staticClosure(output)].filter((name) => !first.has(name) && name.endsWith('.js'))
}
const everything = files.reduce((total, file) => {
  const bytes = readFileSync(join(out, file))
  return total + gzipSync(bytes, { level: 9 }).length + brotliCompressSync(bytes).length
}, 0)
const sizes = {
  'first load': sum(['index.html', ...assets(first), `assets/${style.file}`]),
  graph: sum(assets(later('src/graph/layout.ts'))),
  chart: sum(assets(later('src/chart/plot.ts'))),
  editor: sum(assets(later('src/editor/editor.ts'))),
  'all, gzip and brotli': everything,
}
let isOver = false
for (const [part, bytes] of Object.entries(sizes)) {
  const over = bytes > kBudgets[part] * kKiB
  isOver ||= over
  console.log(`${part.padEnd(22)} ${(bytes / kKiB).toFixed(1).padStart(6)} KiB of ${kBudgets[part]} KiB${over ? '  ABOVE ITS BUDGET' : ''}`)
}
if (isOver) process.exit(1)
