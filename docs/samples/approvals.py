#!/usr/bin/env python3
# The services of docs/approval.md: `/ask` takes an approval and sends a mail with a link, `/remind`
# sends it again, and `/approvals/NUMBER` is the form behind the link. approvals.py PORT FILE
import html, http.server, json, secrets, sqlite3, sys, urllib.error, urllib.parse, urllib.request

port, file = int(sys.argv[1]), sys.argv[2]
known = sqlite3.connect(file, isolation_level=None)  # each statement is on disk when it returns
known.execute("create table if not exists approvals"
              "(number primary key, instance unique, instance_order, callback, is_mailed default 0)")

def mail(number, order):  # to send a real mail: smtplib
    link = f"http://127.0.0.1:{port}/approvals/{number}"
    print(f"mail: please decide about the order {order}: {link}", flush=True)

def ask(instance, callback, order):
    """Stores the approval before it is accepted. A task of the instance that comes again, or its
    next attempt, which has another callback, is the same approval and sends no further mail."""
    known.execute("insert or ignore into approvals(number, instance, instance_order, callback)"
                  " values (?, ?, ?, ?)", (secrets.token_urlsafe(16), instance, order, callback))
    known.execute("update approvals set callback = ? where instance = ?", (callback, instance))
    number, is_mailed = known.execute(
        "select number, is_mailed from approvals where instance = ?", (instance,)).fetchone()
    if is_mailed: return
    mail(number, order)
    known.execute("update approvals set is_mailed = 1 where instance = ?", (instance,))

def remind(instance):
    found = known.execute("select number, instance_order from approvals where instance = ?"
                          " and is_mailed", (instance,)).fetchone()
    if found: mail(*found)

def decide(callback, is_approved):
    """Sends the decision to millrace; returns the status and the text of the page."""
    body = json.dumps({"approved": is_approved}).encode()
    try:
        urllib.request.urlopen(urllib.request.Request(callback + "/complete", body), timeout=10)
        return 200, "Your decision counts."
    except urllib.error.HTTPError as refused:
        if refused.code == 409: return 409, "This approval is over: your decision changes nothing."
    except OSError: pass
    return 503, "Your decision is not stored yet. Please send it again in a minute."

class Handler(http.server.BaseHTTPRequestHandler):
    def read(self):
        size = int(self.headers.get("Content-Length") or 0)
        return self.rfile.read(min(size, 1 << 20)).decode()

    def answer(self, status, text, headers={}):
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def callback(self):
        found = known.execute("select callback, instance_order from approvals where number = ?",
                              (self.path.removeprefix("/approvals/"),)).fetchone()
        if not found: self.answer(404, "There is no such approval.")
        return found

    def do_GET(self):  # programs that check mails come here, too: nothing changes
        found = self.callback()
        if found:
            self.answer(200, f"""<form method="post"><p>The order {html.escape(found[1])}:
                <button name="approved" value="true">approve</button>
                <button name="approved" value="false">refuse</button></p></form>""")

    def do_POST(self):
        if self.path == "/ask":
            ask(self.headers["Direktiv-InstanceID"], self.headers["Millrace-Callback"],
                json.loads(self.read())["order"])
            return self.answer(200, "", {"Millrace-Answer": "accepted"})
        if self.path == "/remind":
            remind(json.loads(self.read())["approval"])
            return self.answer(200, "")
        found = self.callback()  # here a real service checks who decides
        if found:
            approved = urllib.parse.parse_qs(self.read()).get("approved")
            if approved not in (["true"], ["false"]): return self.answer(400, "Press a button.")
            self.answer(*decide(found[0], approved == ["true"]))

http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
