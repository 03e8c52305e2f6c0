# Weir by Homebrew on Linux; `cargo xtask package` fills in the version, and where the archive of each
# processor lies, with its sum. Not a recipe that builds Weir from its source.
class Weir < Formula
  desc "AI agent whose every action passes one gate"
  homepage "https://github.com/weir-agent/weir"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :linux
@SOURCES@

  def install
    bin.install "bin/weir"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install "share/bash-completion/completions/weir"
    zsh_completion.install "share/zsh/site-functions/_weir"
    fish_completion.install "share/fish/vendor_completions.d/weir.fish"
    doc.install "share/doc/weir/README.md", "share/doc/weir/LICENSE"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/weir --version")
    system bin/"weir", "demo"
  end
end
