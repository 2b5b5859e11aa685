import Kernel

/// The API's description as one page of HTML that needs nothing else, no network and no script but for its filter.
struct DocumentPage {
    private static let methods = ["get", "post", "put", "patch", "delete"]

    private let document: JSONValue

    init(_ document: OpenAPIDocument) {
        self.document = document.json
    }

    var html: String {
        let info = document["info"]
        var parts = [
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">",
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">",
            "<title>\(escaped(info?["title"]))</title><style>\(Self.style)</style></head><body><header>",
            "<h1>\(escaped(info?["title"]))</h1>\(prose(info?["description"]))",
            "<p><a href=\"/openapi.json\">openapi.json</a></p>",
            "<input id=\"filter\" type=\"search\" placeholder=\"Filter routes\" aria-label=\"Filter routes\"></header><main>",
        ]
        for tag in document["tags"]?.arrayValue ?? [] {
            parts.append("<section><h2>\(escaped(tag["name"]))</h2>")
            for path in document["paths"]?.members ?? [] {
                for method in Self.methods {
                    guard let operation = path.value[method], operation["tags"]?.arrayValue?.first == tag["name"] else {
                        continue
                    }
                    parts.append(route(method, path.name, operation))
                }
            }
            parts.append("</section>")
        }
        parts.append("<section><h2>Schemas</h2>")
        for schema in document["components"]?["schemas"]?.members ?? [] {
            let name = HTMLText.escaped(schema.name)
            parts.append("<details id=\"schema-\(name)\"><summary><b>\(name)</b></summary>")
            parts.append(SchemaView(schema.value).html + "</details>")
        }
        parts.append("</section></main><script>\(Self.script)</script></body></html>")
        return parts.joined()
    }

    private func route(_ method: String, _ path: String, _ operation: JSONValue) -> String {
        var parts = [
            "<details class=\"route\"><summary><span class=\"method \(method)\">\(method.uppercased())</span> ",
            "<code>\(HTMLText.escaped(path))</code> <span>\(escaped(operation["summary"]))</span>",
            operation["deprecated"] == true ? " <em>deprecated</em>" : "", "</summary>",
            prose(operation["description"]), "<p>Access: \(access(operation["security"]))</p>",
        ]
        let parameters = operation["parameters"]?.arrayValue ?? []
        if !parameters.isEmpty {
            parts.append("<h4>Parameters</h4><table>")
            for parameter in parameters {
                parts.append(
                    "<tr><td><code>\(escaped(parameter["name"]))</code></td><td>\(escaped(parameter["in"]))</td><td>"
                        + SchemaView(parameter["schema"] ?? .null).line
                        + "</td><td>\(escaped(parameter["description"]))</td></tr>"
                )
            }
            parts.append("</table>")
        }
        if let content = operation["requestBody"]?["content"]?["application/json"] {
            parts.append("<h4>Body</h4>" + SchemaView(content["schema"] ?? .null).html)
            for example in content["examples"]?.members ?? [] { parts.append(sample(example.value["value"])) }
        }
        parts.append("<h4>Answers</h4>")
        for answer in operation["responses"]?.members ?? [] { parts.append(response(answer)) }
        return parts.joined() + "</details>"
    }

    private func response(_ answer: JSONMember) -> String {
        let title =
            "<b>\(HTMLText.escaped(answer.name))</b> \(HTMLText.inline(answer.value["description"]?.stringValue ?? ""))"
        guard let content = answer.value["content"]?.members?.first?.value, answer.name.hasPrefix("2") else {
            return "<p>\(title)</p>"
        }
        return "<details><summary>\(title)</summary>\(SchemaView(content["schema"] ?? .null).html)"
            + sample(content["example"]) + "</details>"
    }

    private func access(_ security: JSONValue?) -> String {
        let ways = security?.arrayValue ?? []
        if ways.isEmpty { return "anybody" }
        return ways.map { way in
            let members = way.members ?? []
            if members.isEmpty { return "anybody" }
            return members.map { member in
                let scopes = (member.value.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ", ")
                return HTMLText.escaped(scopes.isEmpty ? member.name : "\(member.name) (\(scopes))")
            }
            .joined(separator: " with ")
        }
        .joined(separator: ", or ")
    }

    private func sample(_ value: JSONValue?) -> String {
        value.map { "<pre>\(HTMLText.escaped(HTMLText.indented($0)))</pre>" } ?? ""
    }

    private func prose(_ value: JSONValue?) -> String {
        (value?.stringValue ?? "").split(separator: "\n\n").map { "<p>\(HTMLText.inline(String($0)))</p>" }.joined()
    }

    private func escaped(_ value: JSONValue?) -> String { HTMLText.escaped(value?.stringValue ?? "") }

    static let style = """
        :root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{margin:0 auto;max-width:60rem;padding:1rem}\
        code,pre{font:0.875rem/1.45 ui-monospace,monospace}pre{overflow:auto;padding:.75rem;border:1px solid #8886;border-radius:.4rem}\
        details{margin:.35rem 0;padding:.35rem .6rem;border:1px solid #8884;border-radius:.4rem}summary{cursor:pointer}\
        .method{display:inline-block;min-width:4.2rem;font-weight:700}.get{color:#2a7ae2}.post{color:#1f8f4d}\
        .patch{color:#b06f00}.delete{color:#c62f3a}table{border-collapse:collapse}td{padding:.15rem .7rem .15rem 0;vertical-align:top}\
        ul{margin:.2rem 0;padding-left:1.2rem}input{width:100%;padding:.5rem;font:inherit;box-sizing:border-box}.req{color:#c62f3a}
        """

    static let script = """
        const f=document.getElementById("filter");f.addEventListener("input",()=>{const w=f.value.toLowerCase();\
        for(const d of document.querySelectorAll("details.route"))\
        d.hidden=!d.querySelector("summary").textContent.toLowerCase().includes(w)});
        """
}
